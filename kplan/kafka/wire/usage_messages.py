"""The messages about what stands in topics and who uses it."""

from kplan.kafka.wire.api import api_of

LOG_DIRS = api_of("DescribeLogDirs", 35, range(1, 5), "admin.cluster")
PRODUCERS = api_of("DescribeProducers", 61, range(1), "admin.transactions")
# Version 4 tells states of groups; version 8 takes many groups at once, 10 asks by topic id.
LIST_GROUPS = api_of("ListGroups", 16, range(4, 6), "admin.groups")
DESCRIBE_GROUPS = api_of("DescribeGroups", 15, range(5, 7), "admin.groups")
OFFSET_FETCH = api_of("OffsetFetch", 9, range(8, 10), "consumer.group")
DELETE_RECORDS = api_of("DeleteRecords", 21, range(3), "admin.topics")
