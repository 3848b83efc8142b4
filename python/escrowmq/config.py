"""Settings as frozen values: read once at the start, from TOML or from RocketMQ's own properties files.

Every key, default and unit stands in escrowmq.toml too. Only this module reads the environment.
"""

import difflib
import os
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

import msgspec
from msgspec import Meta, Struct

from escrowmq.broker_config import APACHE_KEYS, TRANSACTION_KEYS_UNUSED, BrokerConfig, StoreConfig
from escrowmq.errors import ConfigError
from escrowmq.server_config import LimitsConfig, Milliseconds, PagesPort, Port


class NameServerConfig(LimitsConfig, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The table `[namesrv]`."""

    host: str = "127.0.0.1"
    port: Port = 9_876
    data: str = ""
    broker_timeout_ms: Milliseconds = 120_000
    first_scan_ms: Milliseconds = 5_000
    scan_interval_ms: Milliseconds = 10_000
    lists_topics: bool = True
    lists_all_topics: bool = True
    shows_order_topics: bool = False
    tells_brokers_order_topics: bool = True
    shows_acting_masters: bool = False
    deletes_missing_topics: bool = False
    waits_for_brokers: bool = False
    wait_for_brokers_s: Annotated[int, Meta(ge=0)] = 45
    metrics_host: str = "127.0.0.1"
    metrics_port: PagesPort = -1


class Config(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A whole file."""

    namesrv: NameServerConfig = NameServerConfig()
    broker: BrokerConfig = BrokerConfig()
    store: StoreConfig = StoreConfig()


Table = TypeVar("Table", NameServerConfig, BrokerConfig, StoreConfig)

_TABLE_NAMES: Final[Mapping[type[Struct], str]] = {
    NameServerConfig: "namesrv",
    BrokerConfig: "broker",
    StoreConfig: "store",
}


APACHE_NAMES: Final[Mapping[str, str]] = {
    "bindAddress": "host",
    "listenPort": "port",
    "serverChannelMaxIdleTimeSeconds": "connection_idle_s",
    "scanNotActiveBrokerInterval": "scan_interval_ms",
    "enableTopicList": "lists_topics",
    "enableAllTopicList": "lists_all_topics",
    "orderMessageEnable": "shows_order_topics",
    "returnOrderTopicConfigToBroker": "tells_brokers_order_topics",
    "supportActingMaster": "shows_acting_masters",
    "deleteTopicWithBrokerRegistration": "deletes_missing_topics",
    "needWaitForService": "waits_for_brokers",
    "waitSecondsForService": "wait_for_brokers_s",
}
"""RocketMQ's names for settings of the name server."""

_MEANINGLESS_HERE: Final = {
    "clientRequestThreadPoolNums",
    "clientRequestThreadPoolQueueCapacity",
    "defaultThreadPoolNums",
    "defaultThreadPoolQueueCapacity",
    "rocketmqHome",
    "serverCallbackExecutorThreads",
    "serverSelectorThreads",
    "serverWorkerThreads",
    "unRegisterBrokerQueueCapacity",
    "useEpollNativeSelector",
}
"""Settings of RocketMQ's that size what we do not have; a file may keep them."""


def load_config(path: Path) -> Config:
    """Reads a file: TOML, or properties with RocketMQ's keys if its name ends in .conf or .properties.

    Raises:
        ConfigError: The file can't be read, or a key is unknown or has no such value.
    """
    content = _read(path)
    if path.suffix in {".conf", ".properties"}:
        return Config(namesrv=_from_properties(decode_properties(content)))
    try:
        return decode_config(tomllib.loads(content.decode()))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"the configuration {path} is no TOML: {error}", key=str(path)) from error


def decode_config(tables: Mapping[str, Any]) -> Config:
    """Settings from the tables of a TOML file.

    Raises:
        ConfigError: A key is unknown, or has no such value.
    """
    _refuse_unknown(tables, Config.__struct_encode_fields__, where="")
    for name, table in tables.items():
        if not isinstance(table, Mapping):
            raise ConfigError(f"{name} is no table", key=name)
    return Config(
        namesrv=with_settings(NameServerConfig(), tables.get("namesrv", {})),
        broker=with_settings(BrokerConfig(), tables.get("broker", {})),
        store=with_settings(StoreConfig(), tables.get("store", {})),
    )


def with_settings(config: Table, changes: Mapping[str, object]) -> Table:
    """The same settings but for some.

    Raises:
        ConfigError: A key is unknown, or has no such value.
    """
    table = _TABLE_NAMES[type(config)]
    _refuse_unknown(changes, config.__struct_encode_fields__, where=f"{table}.")
    try:
        return msgspec.convert({**msgspec.structs.asdict(config), **changes}, type(config))
    except msgspec.ValidationError as error:
        reason, _, path = str(error).partition(" - at `$.")
        key = path.removesuffix("`")
        raise ConfigError(f"{table}.{key} = {changes.get(key)!r}: {reason}", key=key) from error


def convert_setting(apache_name: str, text: str) -> object:
    """The value of a setting that stands as text under RocketMQ's name.

    Raises:
        ConfigError: The text is no such value.
    """
    fields = {field.name: field.type for field in msgspec.structs.fields(NameServerConfig)}
    try:
        return msgspec.convert(text.strip(), fields[APACHE_NAMES[apache_name]], strict=False)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{apache_name} = {text!r}: {error}", key=apache_name) from error


def load_broker_config(path: Path) -> tuple[Config, list[str]]:
    """Reads a file of a broker's, and says which of its keys mean nothing here: RocketMQ has hundreds.

    TOML, or properties with RocketMQ's keys if its name ends in .conf or .properties.

    Raises:
        ConfigError: The file can't be read, or a key is unknown in TOML, misspelt, or has no such value.
    """
    if path.suffix not in {".conf", ".properties"}:
        return load_config(path), []
    properties = decode_properties(_read(path))
    ignored = [key for key in properties if key not in APACHE_KEYS]
    for key in ignored:
        _refuse_misspelt(key)
    config = Config()
    for key, text in properties.items():
        if key in APACHE_KEYS:
            config = with_setting(config, key, text)
    return config, ignored


def with_setting(config: Config, key: str, text: str) -> Config:
    """The same settings but for one of a broker's: `broker.name` and the like, or RocketMQ's name for it.

    Raises:
        ConfigError: The key is unknown, or the text is no such value.
    """
    table: str
    apache = APACHE_KEYS.get(key)
    if apache is not None:
        try:
            table, setting, value = apache.table, apache.setting, apache.convert(text)
        except (KeyError, ValueError) as error:
            raise ConfigError(f"{key} = {text!r} is no value of it", key=key) from error
        return _replace_table(config, table, {setting: value})
    table, _, setting = key.partition(".")
    known = [f"{name}.{field}" for name in ("broker", "store") for field in _fields(name)]
    _refuse_unknown([key], [*known, *APACHE_KEYS], where="")
    return _replace_table(config, table, {setting: _from_text(table, setting, text)})


def decode_properties(content: bytes) -> dict[str, str]:
    """Lines of `key=value`; those that begin with # or ! are comments.

    Raises:
        ConfigError: The text is no UTF-8, or a line has no key.
    """
    try:
        lines = [line.strip() for line in content.decode().splitlines()]
    except UnicodeDecodeError as error:
        raise ConfigError(f"the properties are no UTF-8: {error}", key="") from error
    pairs = [line.partition("=") for line in lines if line and line[0] not in "#!"]
    for key, separator, _ in pairs:
        if not key.strip() or not separator:
            raise ConfigError(f"the properties have a line without key and value: {key!r}", key=key)
    return {key.strip(): value.strip() for key, _, value in pairs}


def encode_properties(settings: Mapping[str, object]) -> bytes:
    """Lines of `key=value`, in the order of the keys."""
    lines = (f"{key}={_property_text(value)}\n" for key, value in sorted(settings.items()))
    return "".join(lines).encode()


def default_data_folder(room: str) -> Path:
    """Where a server keeps its data unless told otherwise."""
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "escrowmq" / room


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"the configuration {path} can't be read: {error.strerror}", key=str(path)) from error


def _fields(table: str) -> Mapping[str, Any]:
    kinds = {name: kind for kind, name in _TABLE_NAMES.items()}
    return {field.encode_name: field.type for field in msgspec.structs.fields(kinds[table])}


def _from_text(table: str, setting: str, text: str) -> object:
    kind = _fields(table)[setting]
    if kind == list[str]:
        return [part.strip() for part in text.split(";") if part.strip()]
    try:
        return msgspec.convert(text.strip(), kind, strict=False)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{table}.{setting} = {text!r}: {error}", key=f"{table}.{setting}") from error


def _replace_table(config: Config, table: str, changes: Mapping[str, object]) -> Config:
    if table == "store":
        return msgspec.structs.replace(config, store=with_settings(config.store, changes))
    return msgspec.structs.replace(config, broker=with_settings(config.broker, changes))


def _from_properties(properties: Mapping[str, str]) -> NameServerConfig:
    meant = {name: value for name, value in properties.items() if name not in _MEANINGLESS_HERE}
    _refuse_unknown(meant, APACHE_NAMES, where="")
    return with_settings(
        NameServerConfig(), {APACHE_NAMES[name]: convert_setting(name, value) for name, value in meant.items()}
    )


def _refuse_unknown(found: Iterable[str], known: Iterable[str], *, where: str) -> None:
    for key in found:
        if key not in known:
            near = difflib.get_close_matches(key, list(known), n=1, cutoff=0.0)
            raise ConfigError(f"there is no setting {where}{key}; the nearest is {where}{near[0]}", key=key)


def _refuse_misspelt(key: str) -> None:
    """A key that RocketMQ may have means nothing here, and is passed over; one that it can't have is a slip.

    That is one that differs from a key by letters being large or small, or an unknown one of transactions.
    """
    known = [*APACHE_KEYS, *TRANSACTION_KEYS_UNUSED]
    is_of_transactions = key.lower().startswith("transaction") and key not in known
    by_letters = {name.lower(): name for name in known}
    if is_of_transactions or by_letters.get(key.lower(), key) != key:
        near = by_letters.get(key.lower()) or difflib.get_close_matches(key, known, n=1, cutoff=0.0)[0]
        raise ConfigError(f"there is no setting {key}; the nearest is {near}", key=key)


def _property_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
