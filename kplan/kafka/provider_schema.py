"""What each argument of a `provider "kafka"` block is, for editors and the reference."""

from collections.abc import Mapping

from kplan.kinds.schema import Attribute

PROVIDER: Mapping[str, Attribute] = {
    "acl_order": Attribute(
        'Order of a replaced ACL: "delete_first" (KIP-4), or "add_first" where none may be missing.'
    ),
    "allow_everyone_if_no_acl_found": Attribute(
        "What brokers are set to, where they do not tell: access is worked out with it.", "bool"
    ),
    "bootstrap_servers": Attribute("Brokers to ask first, host:port each.", "list(string)"),
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
    "kafka_version": Attribute("Accepted for Terraform's sake; kplan asks the brokers."),
    "properties_file": Attribute("Java properties file with connection settings."),
    "sasl_mechanism": Attribute(
        "How to log in.", choices=("plain", "scram-sha256", "scram-sha512")
    ),
    "sasl_oauth_scopes": Attribute("Of use only with OAuth, which is refused.", "list(string)"),
    "sasl_password": Attribute("Password for SASL.", is_sensitive=True),
    "sasl_token_url": Attribute("Of use only with OAuth, which is refused."),
    "sasl_username": Attribute("User name for SASL."),
    "skip_tls_verify": Attribute("Trust any certificate. For trying only.", "bool"),
    "super_users": Attribute(
        "Principals in super.users of the brokers, which do not tell: as in User:admin.",
        "list(string)",
    ),
    "timeout": Attribute("Seconds to wait for an answer; more than 0.", "number"),
    "tls_enabled": Attribute("Whether to use TLS.", "bool"),
}
"""Arguments by name; the provider's own ones for AWS, which are refused, are left out."""
