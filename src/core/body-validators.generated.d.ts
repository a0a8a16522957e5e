import type { OperationId } from '../contract/operations.ts';
import type { Validator } from './validators.generated.js';

/** An operation without a body has no entry. */
export declare const BODY_VALIDATORS: Readonly<Partial<Record<OperationId, Validator>>>;
