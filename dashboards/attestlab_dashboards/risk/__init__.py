"""The risk explorer: what is happening, and who is behind it?"""
