"""A package, so that the fixtures of its conftest end with its last test: a browser keeps an event loop running."""
