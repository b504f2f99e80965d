"""Schema of the `provider "kafka"` block, for editors and the reference."""

from collections.abc import Mapping

from kplan.kinds.schema import Attribute

PROVIDER_SCHEMA: Mapping[str, Attribute] = {
    "acl_order": Attribute(
        'Order of a replaced ACL: "delete_first" (KIP-4), or "add_first" where none may be missing.'
    ),
    "allow_direct": Attribute(
        "Whether anything may be changed at controllers that are asked directly.", "bool"
    ),
    "allow_everyone_if_no_acl_found": Attribute(
        "What brokers are set to, where they do not tell: access is worked out with it.", "bool"
    ),
    "bootstrap_controllers": Attribute(
        "Controllers to ask in place of brokers, host:port each (KIP-919).", "list(string)"
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
    "sasl_aws_access_key": Attribute("Access key of AWS, where not AWS's own settings count."),
    "sasl_aws_profile": Attribute("Profile in AWS's own settings."),
    "sasl_aws_region": Attribute("Region of the MSK cluster; their names tell it too."),
    "sasl_aws_role_arn": Attribute("Role of AWS to take on."),
    "sasl_aws_secret_key": Attribute("Secret key of AWS.", is_sensitive=True),
    "sasl_aws_token": Attribute("Session token of AWS, with temporary keys.", is_sensitive=True),
    "sasl_mechanism": Attribute(
        "How to log in.",
        choices=("plain", "scram-sha256", "scram-sha512", "oauthbearer", "aws-iam"),
    ),
    "sasl_oauth_scopes": Attribute("Scopes to ask a token for.", "list(string)"),
    "sasl_password": Attribute(
        "Password for SASL; with oauthbearer the secret of the client.", is_sensitive=True
    ),
    "sasl_token_url": Attribute("Where to ask for tokens, with oauthbearer."),
    "sasl_username": Attribute("User name for SASL; with oauthbearer the id of the client."),
    "skip_tls_verify": Attribute("Trust any certificate. For trying only.", "bool"),
    "super_users": Attribute(
        "Principals in super.users of the brokers, which do not tell: as in User:admin.",
        "list(string)",
    ),
    "timeout": Attribute("Seconds to wait for an answer; more than 0.", "number"),
    "tls_enabled": Attribute("Whether to use TLS.", "bool"),
}
"""Arguments by name; those of the provider that kplan does not hand to AWS are left out."""
