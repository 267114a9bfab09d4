import { partitionListCommand } from './list.js';
import {
  partitionCancelCommand,
  partitionMergeCommand,
  partitionMoveCommand,
  partitionSplitCommand,
} from './ranges.js';
import { partitionVerifyCommand } from './verify.js';

export const partitionCommands = [
  partitionListCommand,
  partitionSplitCommand,
  partitionMergeCommand,
  partitionMoveCommand,
  partitionCancelCommand,
  partitionVerifyCommand,
] as const;
