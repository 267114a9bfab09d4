import type { MemoryBudget } from '../../base/async/memory-budget.js';
import { BlobContainers, type BlobContainersOptions } from '../blobs/containers.js';
import { BlobService, type BlobServiceOptions } from '../blobs/blob-service.js';
import type {
  BlobList,
  BlobQuery,
  ContainerAddress,
  ContainerList,
  ContainerQuery,
} from '../blobs/types.js';
import type { PagingPolicy } from './paging-policy.js';
import { shapedBlobs, shapedContainers } from './shaped-blobs.js';

/** A blob service that shapes its lists by a policy. All other operations are unchanged. */
export class ShapedBlobService extends BlobService {
  readonly #paging: PagingPolicy;

  constructor(options: BlobServiceOptions, paging: PagingPolicy) {
    super({ ...options, containersOver: (own) => new ShapedContainers(own, paging) });
    this.#paging = paging;
  }

  override listBlobs(
    address: ContainerAddress,
    query: BlobQuery,
    memory?: MemoryBudget,
  ): Promise<BlobList> {
    const { account, container } = address;
    const shape = this.#paging.shapeOf(['blobs', account, container, query]);
    return shapedBlobs((plain) => super.listBlobs(address, plain, memory), query, shape);
  }
}

class ShapedContainers extends BlobContainers {
  readonly #paging: PagingPolicy;

  constructor(options: BlobContainersOptions, paging: PagingPolicy) {
    super(options);
    this.#paging = paging;
  }

  override list(
    account: string,
    query: ContainerQuery,
    memory?: MemoryBudget,
  ): Promise<ContainerList> {
    const shape = this.#paging.shapeOf(['containers', account, query]);
    return shapedContainers((plain) => super.list(account, plain, memory), query, shape);
  }
}
