import type { TabulariumServer } from '../../../src/app/index.js';
import { DatedClient } from './dated-client.js';

/** A client of the blob service. */
export class BlobWireClient extends DatedClient {
  #containers = 0;

  static of(server: TabulariumServer): BlobWireClient {
    return new BlobWireClient(server.blobPort);
  }

  /** Creates a container and returns its name. */
  async newContainer(headers: Readonly<Record<string, string>> = {}): Promise<string> {
    this.#containers += 1;
    const name = `container-${this.#containers}`;
    await this.expect(201, { method: 'PUT', path: `/${name}?restype=container`, headers });
    return name;
  }
}
