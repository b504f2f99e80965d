"""The messages about what stands in topics and who uses it.

Apart from `messages.py`, because only a few commands need them.
"""

# Leaf modules, imported by what asks for the use of topics.
from kafka.protocol.admin import (  # noqa: TID253
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeProducersRequest,
    DescribeProducersResponse,
    ListGroupsRequest,
    ListGroupsResponse,
)
from kafka.protocol.consumer import OffsetFetchRequest, OffsetFetchResponse  # noqa: TID253

from kplan.kafka.wire.messages import api_of

LOG_DIRS = api_of("DescribeLogDirs", range(1, 5), DescribeLogDirsRequest, DescribeLogDirsResponse)
PRODUCERS = api_of(
    "DescribeProducers", range(1), DescribeProducersRequest, DescribeProducersResponse
)
# Version 4 tells states of groups; version 8 takes many groups at once, 10 asks by topic id.
LIST_GROUPS = api_of("ListGroups", range(4, 6), ListGroupsRequest, ListGroupsResponse)
DESCRIBE_GROUPS = api_of(
    "DescribeGroups", range(5, 7), DescribeGroupsRequest, DescribeGroupsResponse
)
OFFSET_FETCH = api_of("OffsetFetch", range(8, 10), OffsetFetchRequest, OffsetFetchResponse)
DELETE_RECORDS = api_of("DeleteRecords", range(3), DeleteRecordsRequest, DeleteRecordsResponse)
