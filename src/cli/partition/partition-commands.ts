import { partitionBackupCommand, partitionRestoreCommand } from './backups.js';
import { partitionBalanceCommand } from './balance.js';
import { partitionListCommand } from './list.js';
import {
  partitionCancelCommand,
  partitionMergeCommand,
  partitionMoveCommand,
  partitionSplitCommand,
} from './ranges.js';
import { partitionStoreCommand } from './stores.js';
import { partitionVerifyCommand } from './verify.js';

export const partitionCommands = [
  partitionListCommand,
  partitionSplitCommand,
  partitionMergeCommand,
  partitionMoveCommand,
  partitionCancelCommand,
  partitionVerifyCommand,
  partitionBalanceCommand,
  partitionBackupCommand,
  partitionRestoreCommand,
  partitionStoreCommand,
] as const;
