"""Signed notes and checkpoints (C2SP signed-note), and the policies by which they are trusted."""
