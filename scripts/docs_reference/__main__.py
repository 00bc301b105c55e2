"""Write the pages: `python -m scripts.docs_reference`."""

from . import write_all

write_all()
