"""Tokens for Amazon MSK, signed with credentials of AWS by AWS's own signer.

AWS is asked only to take on a role, or where its own settings say that credentials come from it.
"""

from kplan.kafka.auth import AwsMskIam
from kplan.model.errors import AuthError, KplanError


def signed(identity: AwsMskIam) -> tuple[str, float]:
    """Sign a login; gives the token and when it expires, in seconds since 1970.

    Raises:
        AuthError: there are no credentials, or AWS refuses the role.
        KplanError: AWS's signer is not installed.

    """
    try:
        import aws_msk_iam_sasl_signer  # noqa: F401 - AWS's library is large
        from botocore.exceptions import BotoCoreError, ClientError
    except ImportError as failure:
        raise KplanError(
            "A login with IAM takes AWS's signer, which is not installed.",
            hint="Install kplan[msk].",
        ) from failure
    try:
        token, expires_at_ms = _token(identity)
    except (BotoCoreError, ClientError) as failure:
        raise _refused(str(failure)) from failure
    except (ValueError, AttributeError) as failure:  # how the signer says that it found none
        raise _refused("no credentials were found") from failure
    return token, expires_at_ms / 1000


def _token(identity: AwsMskIam) -> tuple[str, int]:
    """Sign with the credentials that are told most plainly: keys, role, profile, AWS's settings."""
    from aws_msk_iam_sasl_signer import MSKAuthTokenProvider as Signer
    from botocore.credentials import CredentialProvider, Credentials

    signed: tuple[str, int]
    if identity.access_key:
        held = Credentials(identity.access_key, identity.secret_key, identity.session_token or None)
        provider = CredentialProvider()
        provider.load = lambda: held
        signed = Signer.generate_auth_token_from_credentials_provider(identity.region, provider)
    elif identity.role_arn:
        signed = Signer.generate_auth_token_from_role_arn(identity.region, identity.role_arn)
    elif identity.profile:
        signed = Signer.generate_auth_token_from_profile(identity.region, identity.profile)
    else:
        signed = Signer.generate_auth_token(identity.region)
    return signed


def _refused(why: str) -> AuthError:
    return AuthError(
        f"AWS's signer made no token: {why.rstrip('.')}.",
        hint="Check the sasl_aws_ arguments, or AWS's own settings (AWS_PROFILE and the like).",
    )
