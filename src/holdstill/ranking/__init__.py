"""The exact engine: what one arm scores, in integers that are the same on every machine.

`grid` brings vectors into their stored form; `dense` and `bm25` score passages; `ranks` turns scores into ranks.
`codes` and `cascade` find the first of many vectors without reading most of them. `kernels/` has the inner loops once
more, compiled: `compiled` says when they serve, `kernel_cache` where they are kept. All take and give numpy arrays
over row numbers; nothing here knows of stores, documents or queries.
"""
