"""`attestlab fsck`: checks the records of an installation against its log and its audit trail."""
