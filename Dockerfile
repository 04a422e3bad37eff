# Serves one project:  docker run -v project:/project -p 8000:8000 bagwise      (docs/container.md)
FROM python:3.13-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY requirements/test.txt requirements/test.txt
COPY src src
RUN python -m venv /opt/bagwise \
    && /opt/bagwise/bin/python -m pip install --no-cache-dir -c requirements/test.txt ".[app,postgres,audio,image]"

FROM python:3.13-slim
COPY --from=build /opt/bagwise /opt/bagwise
RUN useradd --create-home --uid 1000 bagwise \
    && install --directory --owner bagwise --group bagwise /project /home/bagwise/.cache /home/bagwise/.cache/numba
# The kernels are compiled on first use: into the home of the user, since the installed package is read-only.
ENV PATH=/opt/bagwise/bin:$PATH \
    NUMBA_CACHE_DIR=/home/bagwise/.cache/numba
USER bagwise
VOLUME /project
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=120s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/', timeout=4)"]
ENTRYPOINT ["bagwise"]
CMD ["serve", "/project", "--host", "0.0.0.0", "--port", "8000", "--no-browser"]
