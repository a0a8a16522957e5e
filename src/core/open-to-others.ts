const GROUP_AND_OTHERS = 0o077;
const READ_BY_GROUP = 0o040;

/** Owner, group and mode of a file, as `stat` reports them. */
interface FileAccess {
  readonly uid: number;
  readonly gid: number;
  readonly mode: number;
}

/**
 * Returns whether others than its owner have access to a file with a secret. A group of this process may read a file of
 * root: Kubernetes and Docker mount secrets as root:GROUP with mode 0440, and only root chooses the members of a group.
 */
export function isOpenToOthers({ uid, gid, mode }: FileAccess): boolean {
  const isGroupOurs = uid === 0 && process.getgroups?.().includes(gid) === true;
  return (mode & GROUP_AND_OTHERS & ~(isGroupOurs ? READ_BY_GROUP : 0)) !== 0;
}
