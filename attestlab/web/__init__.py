"""The HTTP toolkit: knows no capability and no policy of ours."""
