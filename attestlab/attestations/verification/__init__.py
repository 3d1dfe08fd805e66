"""The eight verification steps, the evidence that they take, and the log proofs that they verify."""
