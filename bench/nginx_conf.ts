/**
 * A configuration of nginx for a folder of its own. In: that folder, how many workers, what its
 * `http` block says, and how many connections a worker may hold. Out: the text of nginx.conf, with
 * everything that it writes in that folder.
 */
export function nginxConf(
  folder: string,
  workers: number,
  http: string,
  connections = 4096,
): string {
  return `daemon off;
worker_processes ${workers};
pid ${folder}/nginx.pid;
error_log stderr error;
events { worker_connections ${connections}; }
http {
  access_log off;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
${http.trimEnd()}
}
`;
}
