import { type Check, CheckFailure, type CheckOptions, type Figures } from '../check.ts';
import { runHistories } from '../histories.ts';
import { removeHistoryGuards } from '../histories-controls.ts';
import { storePlaces } from './histories-place.ts';

const HISTORIES = 300;
const QUICK_HISTORIES = 15;
