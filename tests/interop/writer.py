"""A process of its own that writes a store until it is killed, and says what has been acknowledged.

`python -m tests.interop.writer STORE` prints a JSON line for each batch once it is durable: a list of numbers and
receipts. It appends for as long as it lives, so a SIGKILL finds it at work.
"""

import json
import sys
from pathlib import Path

from tests.interop import ours
from tests.interop.scenario import batches


def main() -> None:
    store = ours.open_store(Path(sys.argv[1]))
    for batch in batches():
        print(json.dumps(list(ours.append(store, batch).items())), flush=True)


if __name__ == "__main__":
    main()
