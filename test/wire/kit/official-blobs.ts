import { BlobServiceClient } from '@azure/storage-blob';
import type { TabulariumServer } from '../../../src/app/index.js';
import { failureOf } from './sdk.js';

/** The official client of the blob service, without retries. */
export function officialBlobs(server: TabulariumServer): BlobServiceClient {
  return BlobServiceClient.fromConnectionString(server.connectionString(), {
    retryOptions: { maxTries: 1 },
  });
}

/** The status and the code with which the service refuses a request. */
export async function refused(
  work: Promise<unknown>,
): Promise<[status: number | undefined, code: string]> {
  const { statusCode, code = '' } = await failureOf(work);
  return [statusCode, code];
}
