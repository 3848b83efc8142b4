"""A process of its own that writes a store until it is killed, and says what has been acknowledged.

`python -m tests.interop.writer STORE` prints a JSON line for each batch once it is durable: the number of its first
message and the receipts of all. It appends for as long as it lives, so a SIGKILL finds it at work.
"""

import json
import sys
from pathlib import Path

from tests.interop import ours
from tests.interop.scenario import batches


def main() -> None:
    store = ours.open_store(Path(sys.argv[1]))
    for batch in batches():
        receipts = ours.append(store, batch)
        print(json.dumps({"first": batch[0].number, "receipts": receipts}), flush=True)


if __name__ == "__main__":
    main()
