"""What the page asks the facade: SQL over the data sets of `lab.sql`, and the verbs of `lab.issuers`."""
