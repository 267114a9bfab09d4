import type { Scope } from './permission.js';

/** What the whole server knows of a storage service: what it is called, and where it differs. */
export interface ServiceDescriptor {
  /**
   * In records, flags and options, in host names of the cloud (`account.table.…`), in texts that
   * signatures are over. The first element of its keys: permanent, it is in every data directory.
   */
  readonly name: string;
  /** The name as it begins members of connection strings (`TableEndpoint`) and names of roles. */
  readonly title: string;
  /** What it serves, for people; its member in configuration files. */
  readonly plural: string;
  /** Where clients look for the service of an emulator. */
  readonly emulatorPort: number;
  readonly container: ContainerDescriptor;
  readonly signature: SignatureDescriptor;
}

/** What a service keeps its data in. */
export interface ContainerDescriptor {
  /** `table`, `queue`. Also the member of a fault rule that selects some. */
  readonly noun: string;
  /** Whether names that differ only in case are one name. */
  readonly ignoresCase: boolean;
  /** How data are spread: each PartitionKey is a partition, or the whole container is one. */
  readonly partitions: 'by-key' | 'whole';
}

/** The shared access signatures of a service. */
export interface SignatureDescriptor {
  /** Of the service in `ss` and `sks`. */
  readonly letter: string;
  /**
   * The letters of `sp` in signatures and stored policies for one container, in the order in which
   * they are written.
   */
  readonly permissions: string;
  /** What the operations touch that a signature for one container can allow. */
  readonly scopes: readonly Scope[];
  /** The field that names the container. Absent: the signature is for that of the URL. */
  readonly containerField?: string;
}
