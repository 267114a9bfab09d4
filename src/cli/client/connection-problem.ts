import { codeOf, CommandFailure, messageOf } from '../terminal/failure.js';
import { ConnectionError } from './service-error.js';

/**
 * The error for an endpoint that did not answer, with advice. A `CommandFailure` when a retry is
 * useless, else a `ConnectionError`.
 */
export function connectionProblem(error: unknown, endpoint: string): Error {
  const code = codeOf(error) ?? '';
  if (code === 'ECONNREFUSED') {
    const text = `Nothing listens at ${endpoint}. Start the server there with: tabularium start`;
    return new ConnectionError(text, { cause: error });
  }
  const advice = tlsAdvice(code, messageOf(error));
  const text = `The connection to ${endpoint} failed: ${messageOf(error)}`;
  return advice === undefined
    ? new ConnectionError(text, { cause: error })
    : new CommandFailure(`${text}. ${advice}`, { cause: error });
}

function tlsAdvice(code: string, message: string): string | undefined {
  switch (code) {
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
    case 'UNABLE_TO_GET_ISSUER_CERT':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
      return (
        'This machine does not trust its certificate. Name a file with the certificate, or with ' +
        'that of its authority, in the variable NODE_EXTRA_CA_CERTS. A server that was started ' +
        'with --tls self-signed prints where its certificate is.'
      );
    case 'CERT_HAS_EXPIRED':
    case 'CERT_NOT_YET_VALID':
      return 'Its certificate is not valid at this time: renew it, or set the clock here.';
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return 'Its certificate is for other names: use one of them in the endpoint.';
    default:
      return speaksHttp(code, message)
        ? 'The port does not seem to speak TLS: try http:// in the endpoint.'
        : undefined;
  }
}

function speaksHttp(code: string, message: string): boolean {
  if (code === 'ECONNRESET') return message.includes('before secure TLS connection');
  return /^ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG)$/.test(code);
}
