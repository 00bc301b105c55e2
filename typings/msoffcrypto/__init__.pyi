from . import exceptions as exceptions
