"""A token endpoint that can be slow, and tokens that wear out."""

from __future__ import annotations

import asyncio
import secrets

from otel_mcp._demo.server.options import Options
from otel_mcp._demo.server.wire import Connection, Request


class Tokens:
    """Issues bearer tokens and says whether one is still good."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._uses: dict[str, int] = {}
        self.issued = 0

    def admits(self, request: Request) -> bool:
        """Counts one use of the request's token, if a token is required at all."""
        if not self._options.require_token:
            return True
        token = request.bearer
        if token is None or token not in self._uses:
            return False
        self._uses[token] += 1
        return self._options.token_uses is None or self._uses[token] <= self._options.token_uses

    async def serve(self, request: Request, connection: Connection, base: str) -> bool:
        """Answers the OAuth paths; false if the path is none of them."""
        if request.path == "/token":
            await asyncio.sleep(self._options.token_delay)
            token = secrets.token_hex(8)
            self._uses[token] = 0
            self.issued += 1
            answer = {"access_token": token, "token_type": "Bearer", "expires_in": 3600}
            await connection.answer_json(200, answer)
        elif request.path.startswith("/.well-known/oauth-protected-resource"):
            await connection.answer_json(200, {"resource": f"{base}/mcp", "authorization_servers": [base]})
        elif request.path.startswith("/.well-known/oauth-authorization-server"):
            await connection.answer_json(200, _metadata(base))
        else:
            return False
        return True


def challenge(base: str) -> dict[str, str]:
    """The header of a 401."""
    return {"www-authenticate": f'Bearer resource_metadata="{base}/.well-known/oauth-protected-resource"'}


def _metadata(base: str) -> dict[str, object]:
    return {
        "issuer": base,
        "authorization_endpoint": f"{base}/authorize",
        "token_endpoint": f"{base}/token",
        "response_types_supported": ["code"],
        "grant_types_supported": ["client_credentials", "authorization_code", "refresh_token"],
        "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"],
        "code_challenge_methods_supported": ["S256"],
    }
