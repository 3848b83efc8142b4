"""DELETE_SUBSCRIPTIONGROUP (207): deletes a group and, if asked, what it has read."""

from msgspec import Struct, field


class DeleteGroup(Struct, frozen=True):
    """Fields of the request."""

    group: str = field(name="groupName")
    cleans_offsets: bool = field(default=False, name="cleanOffset")
