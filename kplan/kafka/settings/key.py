"""Every name of a connection setting that kplan knows, and the schema of the provider block."""

from collections.abc import Mapping
from enum import StrEnum

from kplan.cluster.platform import Platform
from kplan.kinds.schema import Attribute


class Setting(StrEnum):
    """What can be set. Two that end in the same word are two ways of saying it."""

    SERVERS = "bootstrap servers"
    CONTROLLERS = "bootstrap controllers"
    ALLOW_DIRECT = "leave to change something at controllers"
    ALLOW_PLAINTEXT = "leave to log in without TLS"
    PROTOCOL = "security protocol"
    TLS = "TLS"
    CA = "certificate authority"
    CERTIFICATE = "client certificate"
    KEY = "private key"
    KEYSTORE = "keystore"
    KEY_PASSWORD = "passphrase of the private key"  # noqa: S105 - the name of a setting
    SKIP_VERIFY = "trust in any certificate"
    VERIFY = "check of certificates"
    HOST_CHECK = "check of host names"
    MECHANISM = "SASL mechanism"
    USERNAME = "SASL user name"
    PASSWORD = "SASL password"  # noqa: S105
    LOGIN = "JAAS login"
    TOKEN_URL = "URL of a token endpoint"  # noqa: S105
    TOKEN_CA = "certificate authority of the token endpoint"  # noqa: S105
    OAUTH_CLIENT = "OAuth client id"
    OAUTH_SECRET = "OAuth client secret"  # noqa: S105
    SCOPES = "OAuth scopes"
    EXTENSIONS = "SASL extensions"
    GRANT = "OAuth grant type"
    SUBJECT_CLAIM = "claim of the subject"
    URL_ENCODED = "encoding of the OAuth client"
    AWS_REGION = "AWS region"
    AWS_PROFILE = "AWS profile"
    AWS_ROLE = "AWS role"
    AWS_ACCESS_KEY = "AWS access key"
    AWS_SECRET_KEY = "AWS secret key"  # noqa: S105
    AWS_TOKEN = "AWS session token"  # noqa: S105
    AWS_OTHER = "another setting of AWS"
    KERBEROS_SERVICE = "Kerberos service name"
    KERBEROS_PRINCIPAL = "Kerberos principal"
    KERBEROS_KEYTAB = "Kerberos keytab"
    TIMEOUT_S = "timeout in seconds"
    TIMEOUT_MS = "timeout in milliseconds"
    CONNECT_TIMEOUT_MS = "connection timeout in milliseconds"
    IDLE_MS = "idle time in milliseconds"
    SEND_BUFFER = "send buffer in bytes"
    RECEIVE_BUFFER = "receive buffer in bytes"
    CLIENT_ID = "client id"
    REGISTRY_URL = "URL of the schema registry"
    REGISTRY_USER = "user name at the schema registry"
    REGISTRY_PASSWORD = "password at the schema registry"  # noqa: S105
    REGISTRY_LOGIN = "login at the schema registry"
    REGISTRY_CA = "certificate authority of the schema registry"
    CONNECT_URL = "URL of Kafka Connect"
    CONNECT_USER = "user name at Kafka Connect"
    CONNECT_PASSWORD = "password at Kafka Connect"  # noqa: S105
    CONNECT_CA = "certificate authority of Kafka Connect"


def _split_words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ARGUMENT_SETTINGS: Mapping[str, Setting | None] = {
    "acl_order": None,
    "allow_direct": Setting.ALLOW_DIRECT,
    "allow_everyone_if_no_acl_found": None,
    "allow_plaintext_sasl": Setting.ALLOW_PLAINTEXT,
    "bootstrap_controllers": Setting.CONTROLLERS,
    "bootstrap_servers": Setting.SERVERS,
    "ca_cert": Setting.CA,
    "ca_cert_file": Setting.CA,
    "client_cert": Setting.CERTIFICATE,
    "client_cert_file": Setting.CERTIFICATE,
    "client_key": Setting.KEY,
    "client_key_file": Setting.KEY,
    "client_key_passphrase": Setting.KEY_PASSWORD,
    "config": None,
    "connect_ca_cert": Setting.CONNECT_CA,
    "connect_password": Setting.CONNECT_PASSWORD,
    "connect_url": Setting.CONNECT_URL,
    "connect_username": Setting.CONNECT_USER,
    "kafka_version": None,
    "name": None,
    "platform": None,
    "properties_file": None,
    "sasl_aws_access_key": Setting.AWS_ACCESS_KEY,
    "sasl_aws_container_authorization_token_file": Setting.AWS_OTHER,
    "sasl_aws_container_credentials_full_uri": Setting.AWS_OTHER,
    "sasl_aws_creds_debug": None,
    "sasl_aws_external_id": Setting.AWS_OTHER,
    "sasl_aws_profile": Setting.AWS_PROFILE,
    "sasl_aws_region": Setting.AWS_REGION,
    "sasl_aws_role_arn": Setting.AWS_ROLE,
    "sasl_aws_secret_key": Setting.AWS_SECRET_KEY,
    "sasl_aws_shared_config_files": Setting.AWS_OTHER,
    "sasl_aws_token": Setting.AWS_TOKEN,
    "sasl_kerberos_keytab": Setting.KERBEROS_KEYTAB,
    "sasl_kerberos_principal": Setting.KERBEROS_PRINCIPAL,
    "sasl_kerberos_service_name": Setting.KERBEROS_SERVICE,
    "sasl_mechanism": Setting.MECHANISM,
    "sasl_oauth_scopes": Setting.SCOPES,
    "sasl_password": Setting.PASSWORD,
    "sasl_token_url": Setting.TOKEN_URL,
    "sasl_username": Setting.USERNAME,
    "schema_registry_ca_cert": Setting.REGISTRY_CA,
    "schema_registry_password": Setting.REGISTRY_PASSWORD,
    "schema_registry_url": Setting.REGISTRY_URL,
    "schema_registry_username": Setting.REGISTRY_USER,
    "super_users": None,
    "skip_tls_verify": Setting.SKIP_VERIFY,
    "timeout": Setting.TIMEOUT_S,
    "tls_enabled": Setting.TLS,
}
"""Arguments of Terraform's `provider "kafka"` block, and some of our own: acl_order, config and
properties_file.

None: read elsewhere, or of no use. Versions are negotiated, so `kafka_version` is of none.
"""

KEY_SETTINGS: Mapping[str, Setting] = {
    "basic.auth.user.info": Setting.REGISTRY_LOGIN,
    "bootstrap.controllers": Setting.CONTROLLERS,
    "bootstrap.servers": Setting.SERVERS,
    "client.id": Setting.CLIENT_ID,
    "connections.max.idle.ms": Setting.IDLE_MS,
    "default.api.timeout.ms": Setting.TIMEOUT_MS,
    "enable.ssl.certificate.verification": Setting.VERIFY,
    "https.ca.location": Setting.TOKEN_CA,
    "https.ca.pem": Setting.TOKEN_CA,
    "metadata.broker.list": Setting.SERVERS,
    "receive.buffer.bytes": Setting.RECEIVE_BUFFER,
    "request.timeout.ms": Setting.TIMEOUT_MS,
    "sasl.jaas.config": Setting.LOGIN,
    "sasl.kerberos.keytab": Setting.KERBEROS_KEYTAB,
    "sasl.kerberos.principal": Setting.KERBEROS_PRINCIPAL,
    "sasl.kerberos.service.name": Setting.KERBEROS_SERVICE,
    "sasl.mechanism": Setting.MECHANISM,
    "sasl.mechanisms": Setting.MECHANISM,
    "sasl.oauthbearer.client.credentials.client.id": Setting.OAUTH_CLIENT,
    "sasl.oauthbearer.client.credentials.client.secret": Setting.OAUTH_SECRET,
    "sasl.oauthbearer.client.id": Setting.OAUTH_CLIENT,
    "sasl.oauthbearer.client.secret": Setting.OAUTH_SECRET,
    "sasl.oauthbearer.extensions": Setting.EXTENSIONS,
    "sasl.oauthbearer.grant.type": Setting.GRANT,
    "sasl.oauthbearer.header.urlencode": Setting.URL_ENCODED,
    "sasl.oauthbearer.scope": Setting.SCOPES,
    "sasl.oauthbearer.sub.claim.name": Setting.SUBJECT_CLAIM,
    "sasl.oauthbearer.token.endpoint.url": Setting.TOKEN_URL,
    "sasl.password": Setting.PASSWORD,
    "sasl.username": Setting.USERNAME,
    "schema.registry.basic.auth.user.info": Setting.REGISTRY_LOGIN,
    "schema.registry.url": Setting.REGISTRY_URL,
    "security.protocol": Setting.PROTOCOL,
    "send.buffer.bytes": Setting.SEND_BUFFER,
    "socket.connection.setup.timeout.ms": Setting.CONNECT_TIMEOUT_MS,
    "socket.receive.buffer.bytes": Setting.RECEIVE_BUFFER,
    "socket.send.buffer.bytes": Setting.SEND_BUFFER,
    "socket.timeout.ms": Setting.TIMEOUT_MS,
    "ssl.ca.location": Setting.CA,
    "ssl.ca.pem": Setting.CA,
    "ssl.certificate.location": Setting.CERTIFICATE,
    "ssl.certificate.pem": Setting.CERTIFICATE,
    "ssl.endpoint.identification.algorithm": Setting.HOST_CHECK,
    "ssl.key.location": Setting.KEY,
    "ssl.key.password": Setting.KEY_PASSWORD,
    "ssl.key.pem": Setting.KEY,
    "ssl.keystore.certificate.chain": Setting.CERTIFICATE,
    "ssl.keystore.key": Setting.KEY,
    "ssl.keystore.location": Setting.KEYSTORE,
    "ssl.truststore.certificates": Setting.CA,
    "ssl.truststore.location": Setting.CA,
}
"""Names of librdkafka and of Kafka's Java clients that both drivers honour."""

LIBRDKAFKA_KEYS = _split_words(
    """
    api.version.request.timeout.ms broker.address.family broker.address.ttl client.dns.lookup
    client.rack debug enable.metrics.push enable.random.seed log_level
    log.connection.close log.thread.name max.in.flight max.in.flight.requests.per.connection
    message.copy.max.bytes message.max.bytes metadata.max.age.ms
    metadata.recovery.rebootstrap.trigger.ms metadata.recovery.strategy receive.message.max.bytes
    reconnect.backoff.max.ms reconnect.backoff.ms retry.backoff.max.ms retry.backoff.ms
    socket.keepalive.enable socket.max.fails socket.nagle.disable statistics.interval.ms
    topic.blacklist
    topic.metadata.propagation.max.ms topic.metadata.refresh.fast.interval.ms
    topic.metadata.refresh.interval.ms topic.metadata.refresh.sparse
    """
)
"""Fine tuning that librdkafka takes as it is; the wire driver has nothing of the sort: it keeps no
metadata, and asks each node once."""

UNSUPPORTED_KEYS = _split_words(
    """
    sasl.oauthbearer.config sasl.oauthbearer.metadata.authentication.type
    security.providers ssl.ca.certificate.stores ssl.cipher.suites ssl.crl.location
    ssl.curves.list ssl.engine.factory.class ssl.engine.id ssl.engine.location
    ssl.keymanager.algorithm ssl.provider ssl.providers ssl.sigalgs.list ssl.trustmanager.algorithm
    """
)
"""Settings that change whom we trust: not honoured by both drivers, so not taken in silence."""

IGNORED_PREFIXES = (
    "basic.auth.credentials.source",
    "sasl.kerberos.",
    "sasl.login.",
    "sasl.oauthbearer.assertion.",
    "sasl.oauthbearer.jwt.",
    "sasl.oauthbearer.method",
    "ssl.keystore.type",
    "ssl.truststore.type",
)
"""Settings that mean nothing without a mechanism or a grant that is refused by name, or that say
how a client does what kplan does itself; the form of a store is seen from the store."""

UNUSED_KEYS = _split_words(
    """
    acks allow.auto.create.topics api.version.fallback.ms api.version.request
    auto.commit.interval.ms auto.offset.reset batch.num.messages batch.size broker.version.fallback
    buffer.memory builtin.features check.crcs compression.codec compression.gzip.level
    compression.level compression.lz4.level compression.type compression.zstd.level config.providers
    coordinator.query.interval.ms delivery.report.only.error delivery.timeout.ms
    enable.auto.commit enable.auto.offset.store enable.gapless.guarantee enable.idempotence
    enable.partition.eof enable.sasl.oauthbearer.unsecure.jwt exclude.internal.topics
    fetch.error.backoff.ms fetch.max.bytes fetch.max.wait.ms fetch.message.max.bytes fetch.min.bytes
    fetch.queue.backoff.ms fetch.wait.max.ms group.id group.instance.id group.protocol
    group.protocol.type group.remote.assignor heartbeat.interval.ms interceptor.classes
    isolation.level key.deserializer key.serializer linger.ms log.queue max.block.ms
    max.partition.fetch.bytes max.poll.interval.ms max.poll.records max.request.size
    message.send.max.retries message.timeout.ms metadata.max.idle.ms metric.reporters
    metrics.num.samples metrics.recording.level metrics.sample.window.ms offset.store.method
    partition.assignment.strategy partitioner partitioner.adaptive.partitioning.enable
    partitioner.availability.timeout.ms partitioner.class partitioner.ignore.keys
    queue.buffering.backpressure.threshold queue.buffering.max.kbytes
    queue.buffering.max.messages queue.buffering.max.ms queued.max.messages.kbytes
    queued.min.messages reconnect.backoff.jitter.ms request.required.acks
    retries sasl.client.callback.handler.class sasl.oauthbearer.clock.skew.seconds
    sasl.oauthbearer.expected.audience sasl.oauthbearer.expected.issuer
    sasl.oauthbearer.jwks.endpoint.refresh.ms sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms
    sasl.oauthbearer.jwks.endpoint.retry.backoff.ms sasl.oauthbearer.jwks.endpoint.url
    sasl.oauthbearer.scope.claim.name session.timeout.ms
    socket.blocking.max.ms socket.connection.setup.timeout.max.ms ssl.enabled.protocols
    ssl.keystore.password ssl.protocol ssl.secure.random.implementation ssl.truststore.password
    sticky.partitioning.linger.ms topic.metadata.refresh.fast.cnt transaction.timeout.ms
    transactional.id value.deserializer value.serializer
    """
)
"""Settings of producers and consumers, and such as an admin client has no use for."""

VARIABLE_SETTINGS: Mapping[str, Setting] = {
    "KPLAN_ALLOW_DIRECT": Setting.ALLOW_DIRECT,
    "KPLAN_ALLOW_PLAINTEXT_SASL": Setting.ALLOW_PLAINTEXT,
    "KPLAN_BOOTSTRAP_CONTROLLERS": Setting.CONTROLLERS,
    "KPLAN_BOOTSTRAP_SERVERS": Setting.SERVERS,
    "KPLAN_CONNECT_CA_CERT": Setting.CONNECT_CA,
    "KPLAN_CONNECT_PASSWORD": Setting.CONNECT_PASSWORD,
    "KPLAN_CONNECT_URL": Setting.CONNECT_URL,
    "KPLAN_CONNECT_USERNAME": Setting.CONNECT_USER,
    "KPLAN_SASL_AWS_REGION": Setting.AWS_REGION,
    "KPLAN_SASL_KERBEROS_KEYTAB": Setting.KERBEROS_KEYTAB,
    "KPLAN_SASL_KERBEROS_PRINCIPAL": Setting.KERBEROS_PRINCIPAL,
    "KPLAN_SASL_KERBEROS_SERVICE_NAME": Setting.KERBEROS_SERVICE,
    "KPLAN_SASL_MECHANISM": Setting.MECHANISM,
    "KPLAN_SASL_OAUTH_SCOPES": Setting.SCOPES,
    "KPLAN_SASL_PASSWORD": Setting.PASSWORD,
    "KPLAN_SASL_TOKEN_URL": Setting.TOKEN_URL,
    "KPLAN_SASL_USERNAME": Setting.USERNAME,
    "KPLAN_SCHEMA_REGISTRY_CA_CERT": Setting.REGISTRY_CA,
    "KPLAN_SCHEMA_REGISTRY_PASSWORD": Setting.REGISTRY_PASSWORD,
    "KPLAN_SCHEMA_REGISTRY_URL": Setting.REGISTRY_URL,
    "KPLAN_SCHEMA_REGISTRY_USERNAME": Setting.REGISTRY_USER,
    "KPLAN_TLS_CA_CERT": Setting.CA,
    "KPLAN_TLS_CLIENT_CERT": Setting.CERTIFICATE,
    "KPLAN_TLS_CLIENT_KEY": Setting.KEY,
    "KPLAN_TLS_CLIENT_KEY_PASSPHRASE": Setting.KEY_PASSWORD,
    "KPLAN_TLS_ENABLED": Setting.TLS,
    "KPLAN_TLS_SKIP_VERIFY": Setting.SKIP_VERIFY,
    "KAFKA_BOOTSTRAP_SERVERS": Setting.SERVERS,
    "KAFKA_CA_CERT": Setting.CA,
    "KAFKA_CLIENT_CERT": Setting.CERTIFICATE,
    "KAFKA_CLIENT_KEY": Setting.KEY,
    "KAFKA_CLIENT_KEY_PASSPHRASE": Setting.KEY_PASSWORD,
    "KAFKA_CONNECT_BASIC_AUTH_PASSWORD": Setting.CONNECT_PASSWORD,
    "KAFKA_CONNECT_BASIC_AUTH_USERNAME": Setting.CONNECT_USER,
    "KAFKA_CONNECT_URL": Setting.CONNECT_URL,
    "KAFKA_ENABLE_TLS": Setting.TLS,
    "KAFKA_SASL_IAM_AWS_REGION": Setting.AWS_REGION,
    "KAFKA_SASL_MECHANISM": Setting.MECHANISM,
    "KAFKA_SASL_PASSWORD": Setting.PASSWORD,
    "KAFKA_SASL_USERNAME": Setting.USERNAME,
    "KAFKA_SKIP_VERIFY": Setting.SKIP_VERIFY,
    "SCHEMA_REGISTRY_PASSWORD": Setting.REGISTRY_PASSWORD,
    "SCHEMA_REGISTRY_URL": Setting.REGISTRY_URL,
    "SCHEMA_REGISTRY_USERNAME": Setting.REGISTRY_USER,
}
"""Environment variables: ours first, then those of Terraform's providers."""

VARIABLE_PREFIXES = ("KPLAN_CONNECT_", "KPLAN_SASL_", "KPLAN_SCHEMA_REGISTRY_", "KPLAN_TLS_")
CONNECTION_VARIABLE = "KPLAN_CONNECTION"
"""The variable that reserves the connection for the environment: no block may set any of it."""
COMMAND_CONFIG_VARIABLE = "KPLAN_COMMAND_CONFIG"
"""The variable that names a properties file, as --command-config of Kafka's tools does."""


PROVIDER_SCHEMA: Mapping[str, Attribute] = {
    "acl_order": Attribute(
        'Order of a replaced ACL: "delete_first" (KIP-4), or "add_first" where none may be missing.'
    ),
    "allow_direct": Attribute(
        "Allow changes through controllers that are connected directly.", "bool"
    ),
    "allow_everyone_if_no_acl_found": Attribute(
        "The setting of the brokers, where it cannot be read; used for the access analysis.", "bool"
    ),
    "allow_plaintext_sasl": Attribute(
        "Allow a SASL login over a network without TLS. Default: false.", "bool"
    ),
    "bootstrap_controllers": Attribute(
        "Controllers to connect to instead of brokers, as host:port (KIP-919).", "list(string)"
    ),
    "bootstrap_servers": Attribute("Brokers to connect to first, as host:port.", "list(string)"),
    "ca_cert": Attribute("Certificate authority of the brokers, as PEM text."),
    "ca_cert_file": Attribute("File with the certificate authority of the brokers, as PEM."),
    "client_cert": Attribute("Certificate that kplan shows, as PEM text."),
    "client_cert_file": Attribute("File with the certificate that kplan shows, as PEM."),
    "client_key": Attribute("Private key of that certificate, as PEM text.", is_sensitive=True),
    "client_key_file": Attribute("File with the private key of that certificate, as PEM."),
    "client_key_passphrase": Attribute("Passphrase of the private key.", is_sensitive=True),
    "config": Attribute(
        "Further settings under the names of librdkafka or of Java clients.", "map(string)"
    ),
    "connect_ca_cert": Attribute(
        "Certificate authority of Kafka Connect, as PEM text or a file. Default: the system's."
    ),
    "connect_password": Attribute("Password for Kafka Connect.", is_sensitive=True),
    "connect_url": Attribute("URL of Kafka Connect's REST API, for kafka_connector."),
    "connect_username": Attribute("User name for Kafka Connect (basic authentication)."),
    "kafka_version": Attribute("Accepted for Terraform; kplan reads it from the brokers."),
    "name": Attribute("Name of the cluster in reports and metrics. Default: alias or address."),
    "platform": Attribute(
        "Who runs the cluster, where its address does not say; see kplan help platforms.",
        choices=tuple(Platform),
    ),
    "properties_file": Attribute("Java properties file with connection settings."),
    "sasl_aws_access_key": Attribute("Access key of AWS, where not AWS's own settings count."),
    "sasl_aws_profile": Attribute("Profile in AWS's own settings."),
    "sasl_aws_region": Attribute("Region of the MSK cluster. Default: that in the broker names."),
    "sasl_aws_role_arn": Attribute("Role of AWS to take on."),
    "sasl_aws_secret_key": Attribute("Secret key of AWS.", is_sensitive=True),
    "sasl_aws_token": Attribute("Session token of AWS, with temporary keys.", is_sensitive=True),
    "sasl_kerberos_keytab": Attribute(
        "File with the key of the principal, for gssapi. Default: the ticket of kinit."
    ),
    "sasl_kerberos_principal": Attribute("Own principal, such as ci@EXAMPLE.COM, for gssapi."),
    "sasl_kerberos_service_name": Attribute(
        "First part of the principals of the brokers, for gssapi. Default: kafka."
    ),
    "sasl_mechanism": Attribute(
        "How to log in.",
        choices=("plain", "scram-sha256", "scram-sha512", "oauthbearer", "aws-iam", "gssapi"),
    ),
    "sasl_oauth_scopes": Attribute("Scopes of the token.", "list(string)"),
    "sasl_password": Attribute(
        "Password for SASL; with oauthbearer the secret of the client.", is_sensitive=True
    ),
    "sasl_token_url": Attribute("URL of the token endpoint, for oauthbearer."),
    "sasl_username": Attribute("User name for SASL; with oauthbearer the id of the client."),
    "schema_registry_ca_cert": Attribute(
        "Certificate authority of the schema registry, as PEM text or a file. Default: the "
        "system's."
    ),
    "schema_registry_password": Attribute(
        "Password for the schema registry, or the secret of an API key.", is_sensitive=True
    ),
    "schema_registry_url": Attribute("URL of the schema registry, for kafka_schema."),
    "schema_registry_username": Attribute(
        "User name for the schema registry (basic authentication), or an API key."
    ),
    "skip_tls_verify": Attribute("Trust any certificate. For trying only.", "bool"),
    "super_users": Attribute(
        "Principals in super.users of the brokers, such as User:admin; brokers do not return them.",
        "list(string)",
    ),
    "timeout": Attribute(
        "Seconds to wait for an answer; more than 0. Default: 30 for reads, 120 for changes.",
        "number",
    ),
    "tls_enabled": Attribute("Whether to use TLS. Default: true.", "bool"),
}
"""Arguments by name; those of the provider that kplan does not hand to AWS are left out."""
