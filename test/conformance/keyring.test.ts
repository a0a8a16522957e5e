import { createKeyring } from '../../src/keyring/create-keyring.ts';
import { unlockKeyring } from '../../src/keyring/unlock-master-key.ts';
import { describeKeyring } from './keyring.ts';

describeKeyring('libsodium', { create: createKeyring, unlock: unlockKeyring });
