"""The exact engine: what one arm scores, in integers that are the same on every machine.

`grid` brings vectors into their stored form, `dense` and `bm25` score passages, `ranks` turns scores into ranks. All
take and give numpy arrays over row numbers; nothing here knows of stores, documents or queries.
"""
