"""The eight verification steps, the evidence that they take, and the proofs they check."""
