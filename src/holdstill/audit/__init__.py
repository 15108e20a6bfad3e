"""What was searched, and why it was answered so: the search log, replay and blame."""
