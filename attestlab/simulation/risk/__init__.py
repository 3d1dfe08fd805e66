"""What-if over risk: rules over signals and windowed counts, replayed over history with the outcomes of cases."""
