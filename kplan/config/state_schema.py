"""The arguments of the `state` block, as the reference describes them."""

from collections.abc import Mapping

from kplan.kinds.schema import Attribute

STATE_ATTRIBUTES: Mapping[str, Attribute] = {
    "account": Attribute("azure: the storage account. Required there."),
    "allow_http": Attribute(
        "s3, gcs, azure: allow an http:// endpoint on another machine. Default: false.", "bool"
    ),
    "backend": Attribute(
        "Where the state is stored: file, kafka (a topic of the cluster), s3, gcs or azure. "
        "Required."
    ),
    "bucket": Attribute("s3, gcs: the bucket, which must exist. Required there."),
    "container": Attribute("azure: the container, which must exist. Required there."),
    "endpoint": Attribute(
        "s3, gcs, azure: the address of a server with the protocol of the service, such as MinIO, "
        "as https://HOST:PORT. Default: that of the environment, or of the service."
    ),
    "key": Attribute(
        "The name of the state of this configuration: two with the same key in one place share a "
        'state. Required for s3, gcs and azure; for kafka the default is "default".'
    ),
    "region": Attribute("s3: the region of the bucket. Default: AWS_REGION."),
    "replication_factor": Attribute(
        "kafka: of the topic that kplan creates. Default: 3, or the number of brokers if smaller.",
        "number",
    ),
    "topic": Attribute(
        'kafka: the topic, whose name begins with __kplan_. Default: "__kplan_state".'
    ),
}
"""Values may refer to variables and locals. Credentials are none of them."""
