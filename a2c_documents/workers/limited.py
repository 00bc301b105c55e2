"""Starts a program with limits on memory and file size, and without a network where the system allows that.

`python -m a2c_documents.workers.limited MEMORY FILE_SIZE PROGRAM ARGUMENT…`
"""

from __future__ import annotations

import sys

from a2c_smcp.utils.system.resources import leave_network, limit_file_size, limit_memory, run_instead


def main() -> None:
    """Limit this process, and become the program."""
    memory_bytes, file_bytes, *command = sys.argv[1:]
    leave_network()
    limit_memory(int(memory_bytes))
    limit_file_size(int(file_bytes))
    run_instead(command)


if __name__ == "__main__":
    main()
