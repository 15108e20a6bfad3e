"""`python -m holdstill.cli`, the same as `holdstill`."""

from holdstill.cli import main

main()
