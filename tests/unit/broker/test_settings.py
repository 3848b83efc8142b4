"""Settings that operators see and change while the broker runs."""

import pytest
from tests.unit.broker.desk import Desk, TextInMemory

from escrowmq.broker.settings import CHANGEABLE, FixedSetting, Settings
from escrowmq.broker_config import APACHE_KEYS, BrokerConfig, StoreConfig
from escrowmq.config import Config, decode_properties, with_setting
from escrowmq.errors import ConfigError
from escrowmq.protocol.response_codes import ResponseCode

SHOW, CHANGE = 26, 25


def make(file: TextInMemory | None = None, config: BrokerConfig | None = None) -> Settings:
    return Settings(config or BrokerConfig(), StoreConfig(), file or TextInMemory(), now_ms=lambda: 5)


def test_settings_are_shown_as_rocketmq_writes_them() -> None:
    answer = Desk().ask(SHOW)
    shown = decode_properties(answer.body)
    assert shown.keys() == APACHE_KEYS.keys()
    assert {key: shown[key] for key in ("fileReservedTime", "deleteWhen", "diskMaxUsedSpaceRatio")} == {
        "fileReservedTime": "72",
        "deleteWhen": "04",
        "diskMaxUsedSpaceRatio": "75",
    }
    assert (shown["flushDiskType"], shown["mappedFileSizeConsumeQueue"]) == ("SYNC_FLUSH", "6000000")
    assert (shown["traceOn"], shown["brokerPermission"]) == ("true", "6")
    assert answer.ext_fields == {"version": '{"counter":0,"stateVersion":0,"timestamp":1000}'}


@pytest.mark.parametrize("key", sorted(APACHE_KEYS))
def test_what_is_shown_is_read_back_as_the_same_value(key: str) -> None:
    config = Config(broker=BrokerConfig(advertise="127.0.0.1", data="data", name_servers=["one:1", "two:2"]))
    shown = Settings(config.broker, config.store, TextInMemory(), now_ms=lambda: 0).shown()
    assert with_setting(config, key, shown[key]) == config


def test_a_change_counts_when_it_is_on_disk_and_outlasts_a_restart() -> None:
    file = TextInMemory()
    settings = make(file)
    settings.change({"brokerPermission": "4", "autoCreateTopicEnable": "false"})
    assert (settings.broker.permission, settings.broker.creates_topics) == (4, False)
    assert settings.take_changed() == {"brokerPermission", "autoCreateTopicEnable"}
    assert settings.take_changed() == set()
    again = make(file, BrokerConfig(permission=6, region="elsewhere"))
    assert (again.broker.permission, again.broker.creates_topics, again.broker.region) == (4, False, "elsewhere")
    assert again.data_version.counter == 1
    file.is_full = True
    with pytest.raises(OSError, match="No space"):
        again.change({"brokerPermission": "6"})
    assert again.broker.permission == 4


@pytest.mark.parametrize("key", ["storePathRootDir", "listenPort", "brokerName", "flushDiskType", "rocketmqHome", "x"])
def test_no_path_address_or_unknown_key_can_be_changed(key: str) -> None:
    assert key not in CHANGEABLE
    desk = Desk()
    answer = desk.ask(CHANGE, body=f"brokerPermission=4\n{key}=/elsewhere\n".encode())
    assert answer.code == ResponseCode.NO_PERMISSION
    assert answer.remark == f"these settings can not be changed while the broker runs: {key}"
    assert (desk.context.settings.broker.permission, desk.settings_file.saves) == (6, 0)


@pytest.mark.parametrize("line", ["brokerPermission=all", "brokerPermission=99", "brokerPermission", "\xff"])
def test_a_text_that_is_no_value_changes_nothing(line: str) -> None:
    desk = Desk()
    answer = desk.ask(CHANGE, body=b"channelExpiredTimeout=5\n" + line.encode("latin-1"))
    assert answer.code == ResponseCode.INVALID_PARAMETER
    assert desk.context.settings.broker == BrokerConfig()


def test_what_an_older_version_changed_and_this_one_can_not_is_left_as_configured() -> None:
    file = TextInMemory('{"changed":{"brokerPermission":"all","storePathRootDir":"/elsewhere"}}')
    assert make(file).broker == BrokerConfig()
    with pytest.raises(FixedSetting):
        make().change({"storePathRootDir": "/elsewhere"})
    with pytest.raises(ConfigError):
        make().change({"brokerPermission": "all"})


def test_all_that_can_be_changed_is_known() -> None:
    assert APACHE_KEYS.keys() >= CHANGEABLE
