import type { Scope } from './permission.js';

/** The declaration of a storage service: its names, and how it differs from others. */
export interface ServiceDescriptor {
  /**
   * The name in records, flags and options, in host names of the cloud (`account.table.…`) and in
   * signed texts. It is the first element of the service's keys, so it is permanent.
   */
  readonly name: string;
  /**
   * The name as a prefix of members of connection strings (`TableEndpoint`) and in names of roles.
   */
  readonly title: string;
  /** Its containers in the plural, for people; also its member in configuration files. */
  readonly plural: string;
  /** The default port of the service in an emulator. */
  readonly emulatorPort: number;
  readonly container: ContainerDescriptor;
  readonly signature: SignatureDescriptor;
}

/** The containers of a service. */
export interface ContainerDescriptor {
  /** `table`, `queue`, `container`. Also the member of a fault rule that selects containers. */
  readonly noun: string;
  /** True when container names are compared without case. */
  readonly ignoresCase: boolean;
  /**
   * The partitioning of data: by PartitionKey, by the name of each object, or the whole container
   * as one partition.
   */
  readonly partitions: 'by-key' | 'by-name' | 'whole';
}

/** The shared access signatures of a service. */
export interface SignatureDescriptor {
  /** The letter of the service in `ss` and `sks`. */
  readonly letter: string;
  /**
   * The letters of `sp` in signatures and stored policies for one container, in the order in which
   * they are written.
   */
  readonly permissions: string;
  /**
   * The sets of those letters that a user delegation key may stand for, the greatest first: a key
   * stands for the first of them that its bearer holds all of. None: there are no such keys.
   */
  readonly delegable: readonly string[];
  /** The scopes of the operations that a signature for one container can allow. */
  readonly scopes: readonly Scope[];
  /** The field that names the container. Absent: the URL names it. */
  readonly containerField?: string;
}
