"""Exit codes, for scripts, and the one exception that ends a command with a sentence."""

from enum import IntEnum

from nestor.kube import ApiError, Conflict, Forbidden, Invalid, NotFound, Unreachable


class Code(IntEnum):
    OK = 0
    FAILED = 1
    """The job or a step failed, the API server refused the object, or something is wrong."""
    USAGE = 2
    NOT_FOUND = 3
    NO_ACCESS = 4
    """No connection to the API server, or no permission."""
    TIMED_OUT = 5
    INTERRUPTED = 130


class Failure(Exception):
    """Ends a command: `message` is what is wrong, `hint` (may be empty) what to do about it."""

    def __init__(self, message: str, code: Code = Code.FAILED, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.hint = hint


def explain(error: ApiError) -> Failure:
    """An API server's error in words for the user."""
    if isinstance(error, Unreachable):
        return Failure(
            f"no connection to the cluster: {error.message}",
            Code.NO_ACCESS,
            hint="choose another cluster with --context or --kubeconfig",
        )
    if error.status == 401:
        return Failure("the cluster does not accept your credentials", Code.NO_ACCESS, hint="log in again, as you do for kubectl")
    if isinstance(error, Forbidden):
        return Failure(f"permission denied: {error.message}", Code.NO_ACCESS)
    if isinstance(error, NotFound):
        if not error.details.get("name"):
            return Failure(
                "Nestor's resources are not installed in this cluster", Code.FAILED, hint="`nestor doctor` shows what is missing"
            )
        return Failure(error.message, Code.NOT_FOUND)
    if isinstance(error, Conflict) and error.already_exists:
        return Failure(
            error.message,
            Code.FAILED,
            hint="choose another name with --name, change the existing object with `kubectl apply`, or delete it",
        )
    if isinstance(error, Invalid):
        return Failure(f"the cluster rejected it: {error.message}", Code.FAILED)
    return Failure(f"the cluster answered {error}", Code.NO_ACCESS if error.is_transient else Code.FAILED)
