"""holdstill: hybrid retrieval that holds still."""
