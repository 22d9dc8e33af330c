import type Koa from 'koa';
import type { RouterContext } from '@koa/router';
import { HttpError, notFound } from '../errors.ts';

/** Answers what no route took: 405 where the path is known under other methods, else 404. */
export const notFoundHere: Koa.Middleware = async (ctx) => {
  // The router leaves the layers that match the path there, whatever their method.
  const { matched } = ctx as unknown as Partial<Pick<RouterContext, 'matched'>>;
  const methods = new Set(matched?.flatMap((layer) => layer.methods));
  if (methods.size === 0) throw notFound('Nothing is served at this path.');
  const allow = [...methods].toSorted().join(', ');
  throw new HttpError({
    status: 405,
    code: 'method_not_allowed',
    message: `This path takes ${allow}.`,
    headers: { Allow: allow },
  });
};
