"""The only errors a user sees. Each says what was found, where, and what to do."""


class CoterieError(Exception):
    """Base of every error that Coterie raises on purpose."""


class InputError(CoterieError, ValueError):
    """The texts or the file cannot be used; the message names the row and column."""


class ConfigError(CoterieError, ValueError):
    """An option cannot be used as given."""


class ModelFormatError(CoterieError, ValueError):
    """A saved model or run folder is missing a part, damaged, or from another format version."""


class StoppedError(CoterieError):
    """A person stopped a command; the message says what is kept and how it goes on."""
