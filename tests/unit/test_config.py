"""Settings: every one written down, unknown ones refused with the nearest, RocketMQ's own files read."""

import itertools
import re
from pathlib import Path

import pytest

from escrowmq import Limits
from escrowmq.broker_config import APACHE_KEYS, BrokerConfig, StoreConfig
from escrowmq.config import (
    APACHE_NAMES,
    Config,
    NameServerConfig,
    decode_config,
    default_data_folder,
    load_broker_config,
    load_config,
    with_setting,
)
from escrowmq.errors import ConfigError
from escrowmq.server_config import LimitsConfig, own_settings

SHIPPED = Path(__file__).parents[2] / "escrowmq.toml"


def test_the_shipped_file_has_every_setting_with_its_default() -> None:
    assert load_config(SHIPPED) == Config()
    keys = re.findall(r"^(\w+) =", SHIPPED.read_text(encoding="utf-8"), flags=re.MULTILINE)
    tables = (NameServerConfig, BrokerConfig, StoreConfig)
    assert sorted(keys) == sorted(name for table in tables for name in table.__struct_fields__)


def test_every_setting_of_the_shipped_file_is_explained() -> None:
    lines = SHIPPED.read_text(encoding="utf-8").splitlines()
    for before, line in itertools.pairwise(lines):
        if " = " in line and not line.startswith("#"):
            assert before.startswith("# "), line


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"namesrv": {"prot": 1}}, "there is no setting namesrv.prot; the nearest is namesrv.port"),
        ({"nameserver": {}}, "there is no setting nameserver; the nearest is namesrv"),
        ({"namesrv": {"port": 70_000}}, "namesrv.port = 70000: Expected `int` <= 65535"),
        ({"namesrv": {"port": "9876"}}, "namesrv.port = '9876': Expected `int`, got `str`"),
        ({"namesrv": 3}, "namesrv is no table"),
    ],
)
def test_what_is_no_setting_is_refused_in_words(tables: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        decode_config(tables)
    assert str(refused.value) == message


def test_a_configuration_of_rocketmqs_is_read(tmp_path: Path) -> None:
    path = tmp_path / "namesrv.conf"
    path.write_text("# theirs\nlistenPort = 19876\nbindAddress=0.0.0.0\nserverWorkerThreads=8\nenableTopicList=false\n")
    config = load_config(path).namesrv
    assert (config.port, config.host, config.lists_topics) == (19_876, "0.0.0.0", False)  # noqa: S104
    path.write_text("listenPorts=1\n")
    with pytest.raises(ConfigError, match="the nearest is listenPort"):
        load_config(path)


def test_rocketmqs_names_are_names_of_settings() -> None:
    assert set(APACHE_NAMES.values()) <= set(NameServerConfig.__struct_fields__)
    tables = {"broker": BrokerConfig, "store": StoreConfig}
    for key in APACHE_KEYS.values():
        assert key.setting in tables[key.table].__struct_fields__


def test_a_broker_configuration_of_rocketmqs_is_read_and_says_what_means_nothing_here(tmp_path: Path) -> None:
    path = tmp_path / "broker.conf"
    path.write_text(
        "brokerClusterName = DefaultCluster\nbrokerName=broker-b\nbrokerId=0\ndeleteWhen=04\nfileReservedTime=48\n"
        "brokerRole=ASYNC_MASTER\nflushDiskType=ASYNC_FLUSH\nnamesrvAddr=127.0.0.1:9876; 127.0.0.1:9877\n"
        "autoCreateTopicEnable=false\nmappedFileSizeConsumeQueue=6000000\ndiskMaxUsedSpaceRatio=80\n"
    )
    config, ignored = load_broker_config(path)
    assert config.broker.name == "broker-b"
    assert config.broker.name_servers == ["127.0.0.1:9876", "127.0.0.1:9877"]
    assert not config.broker.creates_topics
    assert config.store == StoreConfig(flush="async", retention_age_ms=48 * 3_600_000, disk_clean_ratio=0.8)
    assert ignored == ["brokerRole"]


def test_the_keys_of_transactions_of_a_broker_conf_are_meant_or_said_to_mean_nothing(tmp_path: Path) -> None:
    path = tmp_path / "broker.conf"
    path.write_text(
        "transactionTimeOut=60000\ntransactionCheckMax=5\ntransactionCheckInterval=60000\n"
        "rejectTransactionMessage=true\ntransactionOpMsgMaxSize=4096\ntransactionOpBatchInterval=3000\n"
        "transactionMetricFlushInterval=10000\nenableTransactionMetrics=true\n"
    )
    config, ignored = load_broker_config(path)
    assert config.broker == BrokerConfig(
        transaction_timeout_ms=60_000,
        transaction_checks_max=5,
        transaction_check_interval_ms=60_000,
        takes_transactions=False,
    )
    assert ignored == [
        "transactionOpMsgMaxSize",
        "transactionOpBatchInterval",
        "transactionMetricFlushInterval",
        "enableTransactionMetrics",
    ]


@pytest.mark.parametrize(
    ("key", "nearest"),
    [
        ("transactionTimeout", "transactionTimeOut"),
        ("transactionCheckMaxTimes", "transactionCheckMax"),
        ("TransactionCheckIntervall", "transactionCheckInterval"),
        ("transactionOpBatchIntervall", "transactionOpBatchInterval"),
        ("rejecttransactionmessage", "rejectTransactionMessage"),
        ("flushdisktype", "flushDiskType"),
    ],
)
def test_a_key_of_a_broker_conf_that_is_a_slip_is_refused(tmp_path: Path, key: str, nearest: str) -> None:
    """Passed over, it would leave a setting as it is, and nobody would notice."""
    path = tmp_path / "broker.conf"
    path.write_text(f"{key}=1\n")
    with pytest.raises(ConfigError, match=f"there is no setting {key}; the nearest is {nearest}"):
        load_broker_config(path)


@pytest.mark.parametrize(
    ("key", "text", "message"),
    [
        ("broker.prot", "1", "there is no setting broker.prot; the nearest is broker.port"),
        ("flushDiskTyp", "x", "there is no setting flushDiskTyp; the nearest is flushDiskType"),
        ("flushDiskType", "x", "flushDiskType = 'x' is no value of it"),
        ("listenPort", "70000", "broker.port = 70000: Expected `int` <= 65535"),
        ("store.flush", "x", "store.flush = 'x': Invalid enum value 'x'"),
    ],
)
def test_a_single_setting_that_is_none_is_refused_in_words(key: str, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        with_setting(Config(), key, text)
    assert str(refused.value) == message


def test_a_single_setting_is_set_by_our_name_or_rocketmqs() -> None:
    config = with_setting(with_setting(Config(), "broker.name_servers", "a:1;b:2"), "listenPort", "20911")
    config = with_setting(with_setting(config, "store.flush", "async"), "broker.creates_groups", "false")
    assert config.broker == BrokerConfig(name_servers=["a:1", "b:2"], port=20_911, creates_groups=False)
    assert config.store.flush == "async"


@pytest.mark.parametrize("content", [b"[namesrv", b"\xff"])
def test_a_file_that_is_none_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "escrowmq.toml"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match="is no TOML"):
        load_config(path)
    with pytest.raises(ConfigError, match="No such file"):
        load_config(tmp_path / "nowhere.toml")


def test_the_limits_of_a_server_are_settings_with_the_same_names_and_defaults() -> None:
    assert Limits(**own_settings(BrokerConfig(), LimitsConfig)) == Limits()
    assert Limits(**own_settings(NameServerConfig(connections_max=7), LimitsConfig)) == Limits(connections_max=7)


def test_settings_do_not_change() -> None:
    with pytest.raises(AttributeError):
        NameServerConfig().port = 1  # type: ignore[misc]


def test_the_environment_says_where_data_goes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_data_folder("namesrv-9876") == tmp_path / "escrowmq" / "namesrv-9876"
