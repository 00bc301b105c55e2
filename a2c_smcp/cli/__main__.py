"""`python -m a2c_smcp.cli` is `a2c`."""

from a2c_smcp.cli.main import main

main()
