"""Stores: where a collection's rows live. `base` has the protocol; each store is a package beside it."""
