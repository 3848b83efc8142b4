"""Asks name servers and brokers, ours and Apache's alike, what operators want to know and to change.

    with Admin(["127.0.0.1:9876"]) as admin:
        for topic in topics.list_topics(admin):
            ...

One thing after the other, on the caller's thread; results are values. It neither produces nor consumes for anybody.
"""
