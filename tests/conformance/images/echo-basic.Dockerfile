# The server that the suite forwards requests to, from its Go module. Context: the folder with the program.
FROM scratch
COPY echo-basic /echo-basic
USER 65532:65532
ENTRYPOINT ["/echo-basic"]
