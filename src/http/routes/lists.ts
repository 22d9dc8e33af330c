import type { Page } from '../../handle.ts';

/** A page as every list sends it; `next` is the `after` of the page behind it, or null. */
export const listOf = <T>({ data, next }: Page<T>): object => ({ object: 'list', data, next });
