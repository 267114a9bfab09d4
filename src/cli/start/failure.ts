import { ListenError, SeedError, ServerOptionsError } from '../../app/index.js';
import { CommandFailure, messageOf, UsageError } from '../terminal/failure.js';

/** A failure to start, in words for people. */
export function startFailure(error: unknown): Error {
  // The reader of the seed file knows the position of the mistake.
  if (error instanceof SeedError || error instanceof CommandFailure) return error;
  if (error instanceof ServerOptionsError) {
    const text = error.message
      .replaceAll(/\b(table|queue|blob|control)Port\b/g, '--$1-port')
      .replaceAll(/\boauth\.(jwks|audience)\b/g, '--oauth-$1')
      .replace('Give its passphrase.', 'Give its passphrase with --tls-passphrase-file.')
      .replaceAll(/\ballowHosts\b/g, '--allow-host')
      .replaceAll(/\boauth\.issuer\b/g, '--oauth');
    return new UsageError(text);
  }
  const text = error instanceof ListenError ? listenText(error) : messageOf(error);
  return new CommandFailure(text, { cause: error });
}

function listenText(error: ListenError): string {
  const { service, host, port, code } = error;
  switch (code) {
    case 'EADDRINUSE':
      return (
        `Port ${port} of ${host} is in use, perhaps by another server of storage. Stop that one, ` +
        `or choose another port for the ${service} service with --${service}-port (0 picks a ` +
        'free one).'
      );
    case 'EACCES':
      return (
        `Not allowed to listen on port ${port} of ${host}; choose another port for the ` +
        `${service} service with --${service}-port.`
      );
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `${host} is no address of this machine; choose another with --host.`;
    default:
      return messageOf(error);
  }
}
